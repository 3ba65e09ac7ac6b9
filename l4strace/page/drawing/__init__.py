"""What all charts are drawn with: axis, layout, palette, series and their thinning."""
