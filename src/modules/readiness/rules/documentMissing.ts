import { textOf } from './faults.ts';
import type { Rule } from './rule.ts';

export const documentMissing: Rule = {
  code: 'document_missing',
  severity: 'blocks',
  title: 'The encounter has the documents that the workspace requires of its visit type',
  source: 'X12 005010X222A1 (837P), loop 2300, PWK; CMS Medicare Program Integrity Manual, chapter 3',
  reads: ['encounter.visit_type', 'document.category'],
  check({ encounter, documents }, { requiredDocuments }) {
    const required = requiredDocuments.get(textOf(encounter, 'visit_type') ?? '') ?? [];
    const missing = documents === undefined ? [] : required.filter((category) => !documents.has(category));
    if (missing.length === 0) return [];
    const text = `Documents that the visit type requires are missing: ${missing.join(', ')}.`;
    return [{ record: encounter, field: 'visit_type', text }];
  },
};
