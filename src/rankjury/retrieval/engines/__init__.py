"""Vector indexes behind one interface (`base.Engine`), one file per engine."""
