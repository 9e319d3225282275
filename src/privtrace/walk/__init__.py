"""Walk on a model's tables and place points in the cells walked through."""
