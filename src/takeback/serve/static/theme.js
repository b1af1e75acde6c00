// Light or dark: as the system says, until the person says otherwise; kept for this address.

const KEPT = "takeback theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

export function startTheme() {
  apply(localStorage.getItem(KEPT));
}

/** Changes to the other one. */
export function switchTheme() {
  const shown = document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
  const other = shown === "dark" ? "light" : "dark";
  localStorage.setItem(KEPT, other);
  apply(other);
}

function apply(theme) {
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
