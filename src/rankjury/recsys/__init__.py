"""Logs of who took what and when: read, audited, split; who may be recommended what, and what is held out."""
