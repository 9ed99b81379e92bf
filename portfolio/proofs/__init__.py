"""Records of answers with proofs that third parties can check."""
