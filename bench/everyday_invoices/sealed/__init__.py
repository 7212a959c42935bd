"""The five layouts that nobody looks at before the last measurement: drawn as `Random(68).sample` of ten names."""
