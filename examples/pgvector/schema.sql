-- The table that the shop has already. rankjury only reads it.
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE articles (id text PRIMARY KEY, title text, embedding vector(64) NOT NULL);
CREATE INDEX ON articles USING hnsw (embedding vector_cosine_ops) WITH (m = 16, ef_construction = 64);
