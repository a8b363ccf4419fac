-- The slugs that a category had before. They go on leading to it, so no other category may take one; it may take one back.
--
-- A category that takes a slug waits at the unique index of `categories` for one that gives it up, and so sees here that
-- it was kept.

CREATE OR REPLACE FUNCTION keep_category_slug() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM category_slugs WHERE slug = NEW.slug AND category_id = NEW.id;
    IF EXISTS (SELECT FROM category_slugs WHERE slug = NEW.slug) THEN
        RAISE EXCEPTION USING ERRCODE = 'unique_violation', CONSTRAINT = 'uq_categories_slug',
            MESSAGE = 'a slug that another category had';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO category_slugs (slug, category_id) VALUES (OLD.slug, OLD.id);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER categories_slug_in AFTER INSERT ON categories
    FOR EACH ROW EXECUTE FUNCTION keep_category_slug();
CREATE OR REPLACE TRIGGER categories_slug_over AFTER UPDATE OF slug ON categories
    FOR EACH ROW WHEN (OLD.slug <> NEW.slug) EXECUTE FUNCTION keep_category_slug();
-- As notes.sql does for the tables that earlier migrations have.
CREATE OR REPLACE TRIGGER category_slugs_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON category_slugs
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
ALTER TABLE category_slugs ENABLE ALWAYS TRIGGER category_slugs_noted;
