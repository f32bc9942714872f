-- Nothing ever wrote or read it.

ALTER TABLE model_calls DROP COLUMN metadata;
