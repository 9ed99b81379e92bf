"""Default size limit of proofs."""

PROOF_MB = 64.0  # megabytes of the steps of a proof, compressed
