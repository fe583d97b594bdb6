import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { encounterReadinessTypes } from '../../src/domain/events/readinessEvents.ts';
import { createUpcaster, currentVersion, eventTypes, upcast } from '../../src/domain/events/upcasting.ts';
import { catalog } from '../../src/domain/records/catalog.ts';
import { type DocumentState, evolveDocument } from '../../src/domain/records/document.ts';
import { evolveRecord, type RecordState } from '../../src/domain/records/fold.ts';
import { type AccessReview, evolveAccessReview } from '../../src/modules/audit/accessReview.ts';
import { evolveStatements, noStatements } from '../../src/modules/audit/disclosureStatements.ts';
import { evolveKeys, noKeys } from '../../src/modules/auth/apiKeys.ts';
import { emptyUsers, evolveUsers } from '../../src/modules/auth/users.ts';
import { evolveHolds, type HoldState } from '../../src/modules/erasure/holdState.ts';
import { evolveSettings, noSettings } from '../../src/modules/eventStream/deidentificationSettings.ts';
import { evolveSources, type SourceState } from '../../src/modules/integrations/sources.ts';
import { type BillingState, evolveBilling } from '../../src/modules/readiness/billing.ts';
import { evolveCodeSets } from '../../src/modules/readiness/rules/codeSets.ts';
import {
  evolveRuleSettings,
  type RuleSettings,
  ruleSettingTypes,
} from '../../src/modules/readiness/rules/rule.ts';
import { evolveReturn, type ReturnState } from '../../src/modules/records/commands/returns.ts';
import { emptyWebhooks, evolveWebhooks } from '../../src/modules/webhooks/webhook.ts';

/** An event as it was once written, the fixtures that come before it in its stream, and what the fold makes of it. */
interface Fixture {
  given: string[];
  event: RecordedEvent;
  state: unknown;
}

const folder = 'test/fixtures/events';
const fixtures = new Map<string, Fixture>(
  readdirSync(folder).map((name) => [
    name.replace('.json', ''),
    JSON.parse(readFileSync(join(folder, name), 'utf8')),
  ]),
);

/** `PatientUpserted.v1` and so on, for every version of every type that the service writes. */
function allVersions(): string[] {
  return eventTypes().flatMap((type) =>
    Array.from({ length: currentVersion(type) }, (_, index) => `${type}.v${index + 1}`),
  );
}

/** Users are listed; other maps are listed with their keys. */
function foldedEntry([name, value]: [string, unknown]): [string, unknown] {
  if (!(value instanceof Map)) return [name, value];
  return [name, name === 'users' ? [...value.values()] : [...value]];
}

/** A state with what its maps and sets hold, however deep. */
function listed(state: unknown): unknown {
  const list = (_key: string, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value;
  return JSON.parse(JSON.stringify(state, list));
}

/** Types that are read one by one. */
const readOneByOne = [
  'AccessRecorded',
  'UserTotpCodeUsed',
  'EncounterReadinessChanged',
  'ReadinessCounted',
  'KeyRotated',
];

const billingTypes = [...encounterReadinessTypes, 'ReadinessErased'];

function fold(events: RecordedEvent[]): unknown {
  const { type, data } = events.at(-1) as RecordedEvent;
  const entry = catalog.find(({ eventType, kind }) =>
    type === 'RecordErased' ? kind === data.kind : eventType === type,
  );
  if (entry) {
    return events.reduce<RecordState | undefined>(
      (state, event) => evolveRecord(entry.kind, state, event),
      undefined,
    );
  }
  if (type.startsWith('Disclosure')) return listed(events.reduce(evolveStatements, noStatements));
  if (type.startsWith('Document')) {
    return events.reduce<DocumentState | undefined>(evolveDocument, undefined);
  }
  if (type.startsWith('Webhook')) {
    const all = emptyWebhooks();
    for (const event of events) evolveWebhooks(all, event);
    return { webhooks: [...all.webhooks.values()], revision: all.revision };
  }
  if (['VipMarked', 'VipUnmarked', 'AccessJudged'].includes(type)) {
    const review = events.reduce<AccessReview | undefined>(evolveAccessReview, undefined);
    return Object.fromEntries(Object.entries(review ?? {}).map(foldedEntry));
  }
  if (type.startsWith('Hold')) {
    const all = events.reduce<HoldState | undefined>(evolveHolds, undefined);
    return Object.fromEntries(Object.entries(all ?? {}).map(foldedEntry));
  }
  if (type === 'DeidentificationSet') return listed(events.reduce(evolveSettings, noSettings));
  if (type.startsWith('RecordReturn'))
    return listed(events.reduce<ReturnState | undefined>(evolveReturn, undefined));
  if ([...ruleSettingTypes, 'ReadinessRulesApplied'].includes(type)) {
    return listed(events.reduce<RuleSettings | undefined>(evolveRuleSettings, undefined));
  }
  if (readOneByOne.includes(type)) return upcast(events.at(-1) as RecordedEvent).data;
  if (billingTypes.includes(type)) {
    return listed(events.reduce<BillingState | undefined>(evolveBilling, undefined));
  }
  if (type.startsWith('Source')) {
    return listed(events.reduce<SourceState | undefined>(evolveSources, undefined));
  }
  if (type === 'CodeSetLoaded') {
    const last = events.reduce(evolveCodeSets, { version: 0, sets: [] }).sets.at(-1);
    return listed({ codes: last?.codes, release: last?.data.release });
  }
  if (type.startsWith('User') || type === 'SetupLinkIssued') {
    const all = emptyUsers();
    for (const event of events) evolveUsers(all, event);
    return Object.fromEntries(Object.entries(all).map(foldedEntry));
  }
  const access = noKeys();
  for (const event of events) evolveKeys(access, event);
  const { workspaces, keys, revision } = access;
  return { workspaces: [...workspaces.values()], keys: [...keys.values()], revision };
}

describe('every event ever written', () => {
  test('has a frozen one of each type and version, and no other', () => {
    expect([...fixtures.keys()].sort()).toEqual(allVersions().sort());
  });

  test.each([...fixtures])('%s folds into the state that it always did', (name, { given, event, state }) => {
    expect(`${event.type}.v${event.metadata.schemaVersion}`).toBe(name);
    const before = given.map((earlier) => (fixtures.get(earlier) as Fixture).event);
    expect(fold([...before, event])).toEqual(state);
    expect(upcast(event).metadata.schemaVersion).toBe(currentVersion(event.type));
  });

  test.each([...fixtures])('%s of a version still to come is not read', (_name, { given, event }) => {
    const newer = {
      ...event,
      metadata: { ...event.metadata, schemaVersion: currentVersion(event.type) + 1 },
    };
    const before = given.map((earlier) => (fixtures.get(earlier) as Fixture).event);
    expect(() => fold([...before, newer])).toThrow(expect.objectContaining({ name: 'UnknownSchemaVersion' }));
  });
});

describe('an upcaster', () => {
  /** Version 2 splits the name of version 1, version 3 counts the visits. */
  const { upcast, currentVersion } = createUpcaster({
    VisitorSeen: [
      ({ name, ...rest }) => {
        const [first, last] = String(name).split(' ');
        return { ...rest, first, last };
      },
      (data) => ({ ...data, visits: 1 }),
    ],
    GateOpened: [],
  });
  const event = (type: string, schemaVersion: unknown, data: object) =>
    Object.freeze({
      id: 'event-1',
      type,
      data: Object.freeze(data),
      metadata: Object.freeze({ workspace: 'zoo', schemaVersion }),
      stream: 'zoo.gate',
      revision: 4,
      position: 9,
      recordedAt: '2026-03-14T09:30:00.000Z',
    }) as unknown as RecordedEvent;
  const expected = event('VisitorSeen', 3, { first: 'Ada', last: 'Nguyen', visits: 1 });

  test('takes an event through every version up to the current one, and changes nothing else of it', () => {
    expect(upcast(event('VisitorSeen', 1, { name: 'Ada Nguyen' }))).toEqual(expected);
    expect(upcast(event('VisitorSeen', 2, { first: 'Ada', last: 'Nguyen' }))).toEqual(expected);
  });

  test('gives back the event itself when it is current', () => {
    const gate = event('GateOpened', 1, {});
    expect(upcast(expected)).toBe(expected);
    expect(upcast(gate)).toBe(gate);
  });

  test('knows in which version a type is written', () => {
    expect(currentVersion('VisitorSeen')).toBe(3);
    expect(currentVersion('GateOpened')).toBe(1);
    expect(() => currentVersion('GateClosed')).toThrow('cannot read GateClosed');
  });

  test.each([
    ['VisitorSeen', 4],
    ['VisitorSeen', 0],
    ['VisitorSeen', 1.5],
    ['VisitorSeen', '2'],
    ['VisitorSeen', undefined],
    ['GateOpened', 2],
    ['GateClosed', 1],
    ['constructor', 1],
  ])('does not read %s of version %p', (type, version) => {
    expect(() => upcast(event(type, version, {}))).toThrow(`cannot read ${type}`);
  });
});
