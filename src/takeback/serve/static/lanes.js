// The lanes beside the timeline: which session a turn belongs to, and where one was cut from
// another. Places are given once for all rows that are known; only rows that are seen are drawn.

const WIDTH = 14;
const MOST = 6; // more lanes than this share the last one

/** Returns what gives a row its lane, the lanes that pass, those that end in it, and how many. */
export function lanesOf(turns, sessions, complete) {
  const spans = spansOf(turns, sessions, complete);
  const taken = []; // lane -> the row where it comes free
  const lane = new Map();
  for (const span of spans) {
    let free = taken.findIndex((until) => until < span.first);
    if (free < 0) free = taken.length;
    taken[free] = span.last;
    lane.set(span.session, Math.min(free, MOST - 1));
  }
  const own = new Map(spans.map((span) => [span.session, span]));
  return (at) => {
    const span = own.get(turns[at].session);
    return {
      own: lane.get(span.session),
      passing: unique(spans.filter((s) => s.first < at && at < s.last), lane),
      above: span.first < at,
      below: at < span.last,
      joining: unique(spans.filter((s) => s.joins && s.last === at), lane),
      lanes: Math.min(taken.length, MOST),
    };
  };
}

function spansOf(turns, sessions, complete) {
  const places = new Map(turns.map((turn, at) => [turn.id, at]));
  const found = new Map();
  turns.forEach((turn, at) => {
    const span = found.get(turn.session) ?? { session: turn.session, first: at, last: at };
    span.last = at;
    found.set(turn.session, span);
  });
  for (const session of sessions) {
    const span = found.get(session.id);
    if (!span) continue;
    const origin = places.get(session.origin);
    if (origin !== undefined && origin > span.last) {
      Object.assign(span, { last: origin, joins: true });
    } else if (!complete && new Date(session.began) < new Date(turns.at(-1).time)) {
      span.last = turns.length; // it goes on below what is known
    }
  }
  return [...found.values()].sort((a, b) => a.first - b.first);
}

function unique(spans, lane) {
  return [...new Set(spans.map((span) => lane.get(span.session)))];
}

/** Returns the pieces of a row's drawing: lines and one dot, by numbers. */
export function piecesOf(row, height) {
  const x = (lane) => WIDTH / 2 + 4 + lane * WIDTH;
  const middle = height / 2;
  const pieces = row.passing
    .filter((lane) => lane !== row.own)
    .map((lane) => ({ lane, d: `M${x(lane)} 0V${height}` }));
  if (row.above) pieces.push({ lane: row.own, d: `M${x(row.own)} 0V${middle}` });
  if (row.below) pieces.push({ lane: row.own, d: `M${x(row.own)} ${middle}V${height}` });
  for (const lane of row.joining.filter((other) => other !== row.own)) {
    const [from, to] = [x(lane), x(row.own)];
    pieces.push({ lane, d: `M${from} 0C${from} ${middle} ${to} ${middle / 2} ${to} ${middle}` });
  }
  return { pieces, dot: { x: x(row.own), y: middle }, width: 8 + row.lanes * WIDTH };
}
