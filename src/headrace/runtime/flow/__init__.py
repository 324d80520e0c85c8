"""Tasks that flow: records, watermarks and barriers in one stream, snapshots without a stop."""
