"""The doors: ways to reach a workspace. No rules live here, only words and wires."""
