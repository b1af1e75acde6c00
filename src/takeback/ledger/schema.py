"""The tables, one migration per version. ``user_version`` says how many were applied.

Everything here can be read again from the refs, so a migration may discard what it cannot carry
over: with no tips left, the next command reads the store from its beginning, and without those of
the labels, these. Statements end with a semicolon, and have no other.
"""

from __future__ import annotations

MIGRATIONS = (
    """
    create table if not exists tips (ref text primary key, tip text not null) without rowid;
    create table if not exists checkpoints (
        id text primary key,
        position integer not null unique,
        sequence integer not null,
        machine text not null,
        session text not null,
        kind text not null,
        time real not null,
        snapshot text not null,
        commit_id text not null,
        turn integer,
        turn_id text,
        origin text,
        meta text not null
    );
    create index if not exists by_time on checkpoints (time);
    create index if not exists checkpoints_by_session on checkpoints (session, position);
    create table if not exists operations (
        id text primary key,
        position integer not null unique,
        sequence integer not null,
        machine text not null,
        time real not null,
        snapshot text not null
    );
    create table if not exists changes (
        checkpoint text not null references checkpoints on delete cascade,
        path blob not null,
        kind text not null,
        added integer,
        deleted integer,
        who text,
        session text,
        turn text,
        primary key (checkpoint, path)
    ) without rowid;
    create index if not exists by_turn on changes (turn) where turn is not null;
    create table if not exists labels (
        checkpoint text primary key, name text not null
    ) without rowid;
    create table if not exists sessions (
        id text primary key,
        agent text,
        native text,
        directory text,
        transcript text,
        parent text,
        origin text,
        root text,
        began real not null,
        last real not null,
        last_event real not null,
        newest text not null
    ) without rowid;
    create table if not exists turns (
        id text primary key,
        position integer not null unique,
        session text not null,
        number integer,
        kind text not null,
        prompt text,
        native text,
        before text not null,
        after text not null,
        began real not null,
        ended real,
        state text not null
    );
    create index if not exists turns_by_session on turns (session, position);
    create table if not exists turn_changes (
        turn text not null references turns on delete cascade,
        path blob not null,
        kind text not null,
        added integer,
        deleted integer,
        who text,
        primary key (turn, path)
    ) without rowid;
    create virtual table if not exists words using fts5 (
        text, checkpoint unindexed, what unindexed, tokenize = 'trigram'
    );
    create table if not exists uncounted (
        id text not null,
        what text not null,
        old text not null,
        new text not null,
        primary key (id, what)
    ) without rowid;
    create table if not exists unread (
        commit_id text primary key,
        ref text not null,
        checkpoint text,
        stage text not null,
        reason text not null
    ) without rowid;
    create index if not exists checkpoints_by_kind on checkpoints (kind, id);
    """,
    """
    create table if not exists missing_refs (
        ref text not null, tip text not null, primary key (ref, tip)
    ) without rowid;
    create table if not exists unfolded (turn text primary key) without rowid;
    create index if not exists checkpoints_by_machine on checkpoints (machine, position);
    """,
    """
    create table if not exists expired (
        id text primary key,
        position integer not null,
        machine text not null
    ) without rowid;
    """,
    """
    drop table if exists operations;
    create table operations (
        id text primary key,
        position integer not null unique,
        sequence integer not null,
        machine text not null,
        time real not null,
        snapshot text not null,
        before text not null
    );
    create table if not exists gone (sequence integer primary key);
    delete from tips;
    """,
    """
    create index if not exists checkpoints_tested on checkpoints (position)
        where instr(meta, '"tested') > 0;
    """,
    """
    create index if not exists turns_open on turns (position)
        where state in ('running', 'background');
    create index if not exists checkpoints_by_sequence on checkpoints (sequence);
    create index if not exists checkpoints_numbered on checkpoints (machine, sequence);
    """,
    """
    drop index if exists checkpoints_by_session;
    create index checkpoints_by_session on checkpoints (session, position, kind);
    create index if not exists checkpoints_by_snapshot on checkpoints (snapshot, kind, id);
    """,
    """
    drop table if exists uncounted;
    create table uncounted (
        id text not null,
        what text not null,
        old text not null,
        new text not null,
        paths blob,
        primary key (id, what, old, new)
    ) without rowid;
    delete from tips;
    """,
    """
    drop index if exists checkpoints_tested;
    create index if not exists checkpoints_telling on checkpoints (position)
        where instr(meta, '"tested') > 0 or instr(meta, '"follows"') > 0;
    """,
    """
    alter table labels add column agent text;
    delete from tips where ref like '%/labels/%';
    """,
)
TABLES = (
    "gone",
    "unfolded",
    "expired",
    "uncounted",
    "unread",
    "words",
    "turn_changes",
    "turns",
    "sessions",
    "labels",
    "changes",
    "operations",
    "checkpoints",
    "tips",
)
"""All that is read from the store, in an order that breaks no reference when they are emptied."""
