-- What was decided about one order is shown with it.
CREATE INDEX audit_by_subject ON audit (subject);
