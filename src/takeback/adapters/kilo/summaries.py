"""Summaries in a conversation of Kilo CLI, which keeps them as opencode does."""

from __future__ import annotations

from takeback.adapters.opencode.summaries import OpencodeSummaries

summaries = OpencodeSummaries("kilo")
