import { feedEventTypes } from '../eventStream/cloudEvent.ts';
import type { Webhook } from './webhook.ts';

/** Returns the types of events, as the log has them, that a webhook wants. */
export function wantedEventTypes({ kinds, types }: Pick<Webhook, 'kinds' | 'types'>): Set<string> {
  const wanted = feedEventTypes.filter(
    ({ kind, type }) => (kinds?.includes(kind) ?? true) && (types?.includes(type) ?? true),
  );
  return new Set(wanted.map(({ eventType }) => eventType));
}
