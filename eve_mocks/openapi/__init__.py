"""OpenAPI documents (3.0, 3.1 and Swagger 2.0) read as what a service takes and answers. No HTTP in here."""
