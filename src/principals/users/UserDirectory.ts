import type { NewEvent } from '../../events/event.ts';
import { USERS_STREAM } from '../../events/streamNames.ts';
import type { EventLog } from '../../ports/eventLog.ts';
import { FollowedStream } from '../keys/FollowedStream.ts';
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
 * All users, in memory, following their stream: a change made anywhere is seen here within a quarter of a second. While
 * the event log is away the last known state stands.
 */
export class UserDirectory {
  readonly #stream: FollowedStream<Users>;

  private constructor(stream: FollowedStream<Users>) {
    this.#stream = stream;
  }

  /** Reads the stream of users and begins to follow it. Rejects when the event log is away. */
  static async open(eventLog: EventLog): Promise<UserDirectory> {
    return new UserDirectory(await FollowedStream.open(eventLog, USERS_STREAM, emptyUsers(), evolveUsers));
  }

  /** Every user, disabled ones too, in the order of their creation. */
  all(): User[] {
    return [...this.#stream.state.users.values()];
  }

  /** The user of an id, as of now; a disabled one too. */
  find(id: string): User | undefined {
    return this.#stream.state.users.get(id);
  }

  /** What people call a user, by the id; a disabled one too. */
  nameOf(id: string): string | undefined {
    return this.find(id)?.name;
  }

  /** The user of a name, as of now. */
  findByName(name: string): User | undefined {
    const id = this.#stream.state.idByName.get(nameKey(name));
    return id === undefined ? undefined : this.find(id);
  }

  /** The user whom an identity provider vouches for, as of now. */
  findByIdentity(identity: Identity): User | undefined {
    const id = this.#stream.state.idByIdentity.get(identityKey(identity));
    return id === undefined ? undefined : this.find(id);
  }

  /** What is stored of a user's password; undefined when there is none. */
  passwordOf(id: string): PasswordHash | undefined {
    return this.#stream.state.passwords.get(id);
  }

  /** What is stored of a user's authenticator app; undefined when there is none. */
  secondFactorOf(id: string): StoredSecondFactor | undefined {
    return this.#stream.state.secondFactors.get(id);
  }

  /** Reads what the stream holds beyond what is known. */
  refresh(): Promise<void> {
    return this.#stream.refresh();
  }

  /** Changes users by the event that `decide` makes of all of them (`FollowedStream`). */
  change(decide: (all: Readonly<Users>) => NewEvent | undefined): Promise<void> {
    return this.#stream.change(decide);
  }

  close(): void {
    this.#stream.close();
  }
}
