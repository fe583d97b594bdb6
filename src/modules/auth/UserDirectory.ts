import type { NewEvent } from '../../domain/events/event.ts';
import { USERS_STREAM } from '../../domain/events/streamNames.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { FollowedStream } from './FollowedStream.ts';
import type { PasswordHash } from './password.ts';
import {
  emptyUsers,
  type Identity,
  identityKey,
  nameKey,
  type StoredSecondFactor,
  type User,
  type Users,
} from './user.ts';
import { evolveUsers } from './userEvents.ts';

/**
 * All users, kept in memory by following their stream: a change made anywhere is visible here within a quarter of a second. While
 * the event log is unreachable, the last known state applies.
 */
export class UserDirectory {
  readonly #stream: FollowedStream<Users>;

  private constructor(stream: FollowedStream<Users>) {
    this.#stream = stream;
  }

  /** Reads the stream of users and starts following it. Rejects when the event log is unreachable. */
  static async open(eventLog: EventLog): Promise<UserDirectory> {
    return new UserDirectory(await FollowedStream.open(eventLog, USERS_STREAM, emptyUsers(), evolveUsers));
  }

  /** Returns every user, including disabled ones, in order of creation. */
  all(): User[] {
    return [...this.#stream.state.users.values()];
  }

  /** Returns the user with an id, as of now; including disabled ones. */
  find(id: string): User | undefined {
    return this.#stream.state.users.get(id);
  }

  /** Returns the name of a user, by id; including disabled ones. */
  nameOf(id: string): string | undefined {
    return this.find(id)?.name;
  }

  /** Returns the user with a name, as of now. */
  findByName(name: string): User | undefined {
    const id = this.#stream.state.idByName.get(nameKey(name));
    return id === undefined ? undefined : this.find(id);
  }

  /** Returns the user with an identity at an identity provider, as of now. */
  findByIdentity(identity: Identity): User | undefined {
    const id = this.#stream.state.idByIdentity.get(identityKey(identity));
    return id === undefined ? undefined : this.find(id);
  }

  /** Returns what is stored of a user's password; undefined when there is none. */
  passwordOf(id: string): PasswordHash | undefined {
    return this.#stream.state.passwords.get(id);
  }

  /** Returns what is stored of a user's authenticator app; undefined when there is none. */
  secondFactorOf(id: string): StoredSecondFactor | undefined {
    return this.#stream.state.secondFactors.get(id);
  }

  /** Reads events that were added to the stream. */
  refresh(): Promise<void> {
    return this.#stream.refresh();
  }

  /** Changes users by the event that `decide` derives from all of them (`FollowedStream`). */
  change(decide: (all: Readonly<Users>) => NewEvent | undefined): Promise<void> {
    return this.#stream.change(decide);
  }

  close(): void {
    this.#stream.close();
  }
}
