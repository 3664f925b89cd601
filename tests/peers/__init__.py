"""rankjury beside the tools whose digits it promises: every dialect against its tool, on runs made to be awkward."""
