"""The demo: a scripted agent works on a scratch project, and its turns are taken back."""
