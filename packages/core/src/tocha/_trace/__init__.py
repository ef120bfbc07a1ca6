"""Tracing: symbolic sizes, the graph that a trace records, and the tracer."""
