import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import type { Workspace } from '../../modules/auth/keyState.ts';
import { isInNetworks } from '../../modules/auth/sourceNetworks.ts';
import { claimOf, type MllpBinding, type Peer } from '../../modules/integrations/mllpBinding.ts';
import type { RememberedSources } from '../../modules/integrations/RememberedSources.ts';
import type { Source } from '../../modules/integrations/source.ts';
import { sourceOf } from '../../modules/integrations/sourceOf.ts';

/** The source whose messages arrive on a connection. */
export interface Sender {
  workspace: Workspace;
  source: Source;
}

/** Why a connection belongs to no source, for operators. */
export type NoSender = 'no_source' | 'several_sources' | 'several_workspaces';

export interface SenderPorts {
  directory: Pick<KeyDirectory, 'known'>;
  sources: Pick<RememberedSources, 'of'>;
}

const loopback = ['127.0.0.0/8', '::1/128'];

/** Determines to whom connections belong, by the bindings of the sources of all workspaces. */
export class Senders {
  readonly #directory: SenderPorts['directory'];
  readonly #sources: SenderPorts['sources'];

  constructor({ directory, sources }: SenderPorts) {
    this.#directory = directory;
    this.#sources = sources;
  }

  /**
   * Resolves with the source that claims a connection most surely. While no source of any workspace is bound, a
   * connection from this machine belongs to the default source of the only active workspace. Rejects with
   * `unavailable` and `unreadable`.
   */
  async of(peer: Peer): Promise<Sender | NoSender> {
    const bound = await this.#bound();
    if (bound.length === 0) return this.#unbound(peer);
    const claims = bound.map((one) => ({ one, claim: claimOf(one.source.mllp, peer) }));
    const surest = Math.max(...claims.map(({ claim }) => claim));
    const [found, another] = claims.filter(({ claim }) => claim > 0 && claim === surest);
    if (found === undefined) return 'no_source';
    return another === undefined ? found.one : 'several_sources';
  }

  /**
   * Resolves with the sender as it is now; undefined where the connection no longer belongs to its source: checked for
   * each message. Rejects with `unavailable` and `unreadable`.
   */
  async present({ workspace, source }: Sender, peer: Peer): Promise<Sender | undefined> {
    const found = await this.of(peer);
    if (typeof found === 'string') return undefined;
    return found.workspace.id === workspace.id && found.source.id === source.id ? found : undefined;
  }

  async #bound(): Promise<(Sender & { source: { mllp: MllpBinding } })[]> {
    const workspaces = [...this.#directory.known.workspaces.values()];
    const sources = await Promise.all(workspaces.map(({ id }) => this.#sources.of(id)));
    return workspaces.flatMap((workspace, at) =>
      (sources[at] ?? []).flatMap((source) => {
        const { mllp } = source;
        return mllp === undefined ? [] : [{ workspace, source: { ...source, mllp } }];
      }),
    );
  }

  async #unbound({ address }: Peer): Promise<Sender | NoSender> {
    if (!isInNetworks(loopback, address)) return 'no_source';
    const active = [...this.#directory.known.workspaces.values()].filter(({ state }) => state === 'active');
    const [workspace, another] = active;
    if (workspace === undefined || another !== undefined) return 'several_workspaces';
    return { workspace, source: sourceOf(await this.#sources.of(workspace.id), 'hl7v2') };
  }
}
