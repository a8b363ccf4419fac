-- The tables that have no model.

-- What is part of a word besides letters and digits: c++, c#, .net, and the = before a title as a whole.
CREATE VIRTUAL TABLE project_search USING fts5(title, brief, description, tokenize="ascii tokenchars '+#.='");
CREATE VIRTUAL TABLE project_search_brief USING fts5(title, brief, tokenize="ascii tokenchars '+#.='");

CREATE TABLE project_search_removals (projects bigint NOT NULL);
INSERT INTO project_search_removals VALUES (0);
