-- The slugs that a category had before. They go on leading to it, so no other category may take one; it may take one back.

CREATE TRIGGER categories_slug_in BEFORE INSERT ON categories
WHEN EXISTS (SELECT 1 FROM category_slugs WHERE slug = NEW.slug)
BEGIN
    SELECT RAISE(ABORT, 'UNIQUE constraint failed: categories.slug');
END;

CREATE TRIGGER categories_slug_over AFTER UPDATE OF slug ON categories WHEN OLD.slug <> NEW.slug
BEGIN
    DELETE FROM category_slugs WHERE slug = NEW.slug AND category_id = NEW.id;
    SELECT RAISE(ABORT, 'UNIQUE constraint failed: categories.slug')
    WHERE EXISTS (SELECT 1 FROM category_slugs WHERE slug = NEW.slug);
    INSERT INTO category_slugs (slug, category_id) VALUES (OLD.slug, OLD.id);
END;
