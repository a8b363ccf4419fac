"""What Lighthouse and axe say of the pages."""
