"""Readers: one module per library, from fitted models to trees and native numbers."""
