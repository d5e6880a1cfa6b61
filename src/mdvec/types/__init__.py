"""The values that travel between the stages: frozen, slotted, without behaviour of their own."""
