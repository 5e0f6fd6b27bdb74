-- The notes that were posted into a shop's order, and those whose post began, as JSON: see storefronts/woocommerce/note-posts.ts.
ALTER TABLE deliveries ADD COLUMN note_posts TEXT;
