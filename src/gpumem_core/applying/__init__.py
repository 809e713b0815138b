"""How a plan is carried out, in time and reversibly."""
