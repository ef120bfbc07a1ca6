"""The operators, one file a family. ``tocha/__init__.py`` publishes what each file's ``__all__`` names."""
