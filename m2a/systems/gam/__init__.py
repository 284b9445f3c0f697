"""GAM (arXiv 2511.18423): a light memory of memos over a store of whole pages, and a researcher who searches the pages."""
