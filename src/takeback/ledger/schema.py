"""The tables, one migration a version. ``user_version`` says how many were applied."""

from __future__ import annotations

MIGRATIONS = (
    """
    create table tips (ref text primary key, tip text not null);
    create table checkpoints (
        id text primary key,
        session text not null,
        place integer not null,
        kind text not null,
        time real not null,
        snapshot text not null,
        commit_id text not null,
        complete integer not null,
        files integer not null,
        saved text,
        prompt text,
        turn integer,
        branch text,
        head text,
        operation text,
        unique (session, place)
    );
    create index checkpoints_by_time on checkpoints (time);
    create table changes (
        checkpoint text not null references checkpoints (id) on delete cascade,
        path blob not null,
        kind text not null,
        added integer,
        deleted integer,
        primary key (checkpoint, path)
    ) without rowid;
    create table labels (checkpoint text primary key, name text not null);
    """,
)
