"""How large proofs may get where nobody says so."""

PROOF_MB = 64.0  # megabytes of the steps of a proof, compressed
