import { wrong } from './faults.ts';
import type { Rule } from './rule.ts';

const unfitting = ['referring_provider', 'billing_provider'];

export const renderingRole: Rule = {
  code: 'rendering_role',
  severity: 'warns',
  title: 'The rendering provider has a role that gives care',
  source: 'X12 005010X222A1 (837P), loops 2310A and 2310B',
  reads: ['encounter.rendering_provider_id', 'provider.role'],
  check: ({ renderingProvider }) =>
    wrong(
      renderingProvider,
      'role',
      (role) => !unfitting.includes(role),
      'Someone who refers patients or bills for others did not give the care.',
    ),
};
