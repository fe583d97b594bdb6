import { DAMAGE_ADVICE, UnreadableError } from '../../platform/errors.ts';
import type { JsonObject, RecordedEvent } from './event.ts';
import { INSTALLATION } from './streams.ts';

/** A stream lacks an event, so later ones must not be folded. */
export class MissingVersion extends UnreadableError {
  /** `event`: the next one that can be read. */
  constructor(version: number, event?: Pick<RecordedEvent, 'stream' | 'position'>) {
    super(
      'internal',
      `Version ${version} of this history is missing or can no longer be read, so nothing after it is shown. ${DAMAGE_ADVICE}`,
      event,
    );
  }
}

/** Throws `MissingVersion` unless the event directly follows `version`; 0 is before the first. */
export function assertNextVersion(
  version: number,
  event: Pick<RecordedEvent, 'revision' | 'stream' | 'position'>,
): void {
  if (event.revision !== version) throw new MissingVersion(version + 1, event);
}

/** Converts data from one schema version of an event type to the next; pure, leaves its argument unchanged. */
export type UpcastStep = (data: JsonObject) => JsonObject;

/**
 * The steps of every event type, oldest first: the first converts version 1 to version 2. The current version of a type is
 * therefore its number of steps plus one.
 */
type UpcastTable = Readonly<Record<string, readonly UpcastStep[]>>;

interface Upcaster {
  /**
   * Returns the event with its data and `schemaVersion` at the current version of its type, or the event itself when it already
   * is. Throws `UnknownSchemaVersion` when the table lacks its type or version: a newer service wrote it.
   */
  upcast(event: RecordedEvent): RecordedEvent;

  /** The schema version with which new events of a type are written. Throws `UnknownSchemaVersion` for an unknown type. */
  currentVersion(type: string): number;

  /** Adds a type to the table; throws when it exists. */
  addEventType(type: string, steps: readonly UpcastStep[]): void;

  /** The types in the table. */
  eventTypes(): string[];
}

/** An event written by a newer version of the service. */
export class UnknownSchemaVersion extends UnreadableError {
  /** Its type and version, as far as known: `PatientUpserted.v2`. */
  readonly shape: string;

  constructor(type: string, version: unknown) {
    super(
      'unreadable',
      `This version of the service cannot read ${type} of schema version ${version}, which was written by a newer one. ` +
        'Nothing else is affected. Try again when the upgrade is complete.',
    );
    this.shape = `${type}.v${version}`;
  }
}

/** Creates an upcaster to the versions that a table calls current. */
export function createUpcaster(table: UpcastTable): Upcaster {
  const stepsByType = new Map(Object.entries(table));
  const stepsOf = (type: string, version: unknown): readonly UpcastStep[] => {
    const steps = stepsByType.get(type);
    if (steps === undefined) throw new UnknownSchemaVersion(type, version);
    return steps;
  };
  return {
    upcast(event) {
      const { schemaVersion: version } = event.metadata;
      const steps = stepsOf(event.type, version);
      const current = steps.length + 1;
      if (version === current) return event;
      if (!Number.isInteger(version) || version < 1 || version > current) {
        throw new UnknownSchemaVersion(event.type, version);
      }
      const data = steps.slice(version - 1).reduce((older, step) => step(older), event.data);
      return {
        ...event,
        data,
        dataText: undefined,
        metadataText: undefined,
        metadata: { ...event.metadata, schemaVersion: current },
      };
    },
    currentVersion: (type) => stepsOf(type, 1).length + 1,
    addEventType(type, steps) {
      if (stepsByType.has(type)) throw new Error(`the event type ${type} is there already`);
      stepsByType.set(type, steps);
    },
    eventTypes: () => [...stepsByType.keys()],
  };
}

/** A user's role was one in all workspaces, before users had roles by workspace. */
function toRolesByWorkspace({ role, ...data }: JsonObject): JsonObject {
  return { ...data, roles: { [INSTALLATION]: role } as JsonObject };
}

/** A filing limit was a number of days, before it could be one of months or years. */
function toDuration({ days, ...data }: JsonObject): JsonObject {
  return { limit: days === null ? null : `P${days}D`, ...data };
}

/**
 * Every event type that the service writes, except those of records, which the catalog adds. A type that changes its shape gets a
 * step here (or in its kind's file), and a frozen event of the new version among the test fixtures; projections whose folded
 * shape changes get a new version. Processes that do not know the new version yet show nothing of the streams that contain it
 * (docs/decisions/022).
 */
const ownTypes = {
  DocumentUploaded: [],
  DocumentRemoved: [],
  DocumentErased: [],
  RecordErased: [],
  EncounterBilled: [],
  BillingChangeAcknowledged: [],
  FindingAnswered: [],
  ClaimOutcomeReported: [],
  EncounterReadinessChanged: [],
  ReadinessErased: [],
  DisclosureAdded: [],
  DisclosurePurposeStated: [],
  DisclosuresErased: [],
  ReadinessRulesApplied: [],
  ReadinessCounted: [],
  HoldAdded: [],
  HoldReleased: [],
  RecordReturnRefused: [],
  RecordReturnDecided: [],
  ReadinessRuleSet: [],
  FilingLimitSet: [toDuration],
  RequiredDocumentSet: [],
  BillingEntitySet: [],
  BillingTimeZoneSet: [],
  PayerRulesSet: [],
  CodeSetLoaded: [],
  SourceConfigured: [],
  SourceRemoved: [],
  AccessRecorded: [],
  WorkspaceCreated: [],
  WorkspaceDeactivated: [],
  WorkspaceActivated: [],
  WorkspaceRetentionSet: [],
  WorkspaceUnchangedSet: [],
  WorkspaceBreakGlassSet: [],
  WorkspaceOrganizationSet: [],
  WorkspaceReturnsSet: [],
  WorkspaceReasonSet: [],
  WorkspaceOfficeHoursSet: [],
  VipMarked: [],
  VipUnmarked: [],
  AccessJudged: [],
  DeidentificationSet: [],
  WorkspaceDeletionStarted: [],
  WorkspaceDeleted: [],
  ApiKeyCreated: [],
  ApiKeyUpdated: [],
  ApiKeyLimitsSet: [],
  ApiKeyPublicKeysSet: [],
  ApiKeyRotated: [],
  ApiKeyDeactivated: [],
  ApiKeyActivated: [],
  ApiKeyDeleted: [],
  WebhookCreated: [],
  WebhookUpdated: [],
  WebhookDeleted: [],
  WebhookDisabled: [],
  WebhookEnabled: [],
  WebhookSecretRotated: [],
  WebhookSecretsSealed: [],
  WebhookRetryRequested: [],
  WebhookReplayRequested: [],
  WebhookPinged: [],
  UserCreated: [toRolesByWorkspace],
  UserPasswordSet: [],
  UserRoleSet: [toRolesByWorkspace],
  UserTimeZoneSet: [],
  UserDisabled: [],
  UserEnabled: [],
  UserUnlocked: [],
  UserInvited: [toRolesByWorkspace],
  UserInvitationIssued: [],
  UserTotpSet: [],
  UserTotpReset: [],
  UserTotpCodeUsed: [],
  UserRecoveryCodeUsed: [],
  SetupLinkIssued: [],
  KeyRotated: [],
} as const satisfies UpcastTable;

export const { upcast, currentVersion, addEventType, eventTypes } = createUpcaster(ownTypes);
