"""Which names are sensitive: the table of what is and, as important, of what is not."""

from __future__ import annotations

from takeback.model.sensitive import is_sensitive, is_sensitive_directory

SENSITIVE = """
.env  .env.local  .env.production  .envrc  .ENV  deploy/.Env.Local  .env.backup
server.pem  certs/KEY.PEM
id_rsa  id_ed25519  id_ecdsa_sk  ID_RSA  id_rsa.old  keys/id_rsa
.npmrc  .netrc  _netrc  .pypirc  .pgpass  home/.git-credentials
credentials  credentials.json  Credentials.yml  .aws/credentials  credentials-prod.toml
.ssh  .ssh/config  home/.SSH/known_hosts  .gnupg/private-keys-v1.d/ab.key
"""

PLAIN = """
.env.example  .env.sample  .env.template  .env.dist  .env.local.example  .ENV.EXAMPLE  env  my.env
.env/bin/python  environment.py
id_rsa.pub  ID_RSA.PUB  id_map.py  id_token.ts  identity  grid_id_x
credentials.py  credentials_controller.rb  CredentialsForm.tsx  credentials/views.py
credentials.example  my-credentials.txt  pem  a.pem.md  npmrc  ssh/config  src/.sshx/a
"""


def test_a_name_that_usually_means_a_secret_is_sensitive() -> None:
    assert [path for path in SENSITIVE.split() if not is_sensitive(path.encode())] == []


def test_a_name_that_only_looks_like_it_is_not() -> None:
    assert [path for path in PLAIN.split() if is_sensitive(path.encode())] == []


def test_bytes_that_are_no_text_are_only_names() -> None:
    assert is_sensitive(b"\xff\xfe/.env")
    assert not is_sensitive(b"\xff\xfe")
    assert not is_sensitive(b"")


def test_only_some_directories_are_sensitive_as_a_whole() -> None:
    assert is_sensitive_directory(b".SSH")
    assert not is_sensitive_directory(b".env"), "a virtual environment is often called that"
    assert not is_sensitive_directory(b"credentials")
