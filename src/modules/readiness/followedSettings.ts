import { codeSetStream, workspaceOfStream } from '../../domain/events/streams.ts';
import { asUnreadable, unavailable } from '../../platform/errors.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import { CODE_SET_LOADED } from './rules/codeSets.ts';
import { isRuleSetting, type RuleSettings, readRuleSettings } from './rules/rule.ts';

/** A server that has just begun to lead may not show the newest events of a stream: what it showed does not stay for good. */
const KEPT_MS = 60_000;

/**
 * The rule settings of workspaces, for a follower of the log: they are read once, and again after an event that changes them, so
 * that no evaluation reads streams which the events followed so far have not changed.
 */
export class FollowedSettings {
  readonly #eventLog: EventLog;
  readonly #kept = new Map<string, { settings: Promise<RuleSettings>; until: number }>();
  /** How many events the settings of workspaces have at least. */
  readonly #followed = new Map<string, number>();
  /** How many times code sets were loaded at least, by their streams. */
  readonly #codeSets = new Map<string, number>();

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /** Notes the changes in the next batch. */
  follow({ events, unreadable = [] }: Pick<EventBatch, 'events' | 'unreadable'>): void {
    for (const { type, stream, revision } of [...events, ...unreadable]) {
      if (type === CODE_SET_LOADED) {
        this.#codeSets.set(stream, Math.max(this.#codeSets.get(stream) ?? 0, revision + 1));
        this.#kept.clear();
      } else if (isRuleSetting(type)) {
        const workspace = workspaceOfStream(stream);
        this.#followed.set(workspace, Math.max(this.#followed.get(workspace) ?? 0, revision + 1));
        this.#kept.delete(workspace);
      }
    }
  }

  /**
   * Resolves with the settings of a workspace, which include every change followed so far; undefined where they cannot be read.
   * Rejects with `unavailable`.
   */
  async of(workspace: string): Promise<RuleSettings | undefined> {
    let kept = this.#kept.get(workspace);
    if (kept === undefined || performance.now() > kept.until) {
      kept = { settings: this.#read(workspace), until: performance.now() + KEPT_MS };
      this.#kept.set(workspace, kept);
    }
    try {
      return await kept.settings;
    } catch (error) {
      if (this.#kept.get(workspace) === kept) this.#kept.delete(workspace);
      asUnreadable(error);
      return undefined;
    }
  }

  async #read(workspace: string): Promise<RuleSettings> {
    const version = this.#followed.get(workspace) ?? 0;
    const codeSets = [...this.#codeSets];
    const settings = await readRuleSettings(this.#eventLog, workspace);
    const loaded = new Map(
      [...(settings.codeSetVersions ?? [])].map(([name, times]) => [codeSetStream(name), times]),
    );
    const isWhole = codeSets.every(([stream, times]) => (loaded.get(stream) ?? 0) >= times);
    if (settings.version < version || !isWhole) throw unavailable('event log');
    return settings;
  }
}
