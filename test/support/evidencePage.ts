import { expect } from 'vitest';
import { UserDirectory } from '../../src/modules/auth/users.ts';
import { eventually } from './eventually.ts';
import { makeUser } from './makeUser.ts';
import { phi } from './phi.ts';
import type { TestService } from './service.ts';
import { Visitor } from './visitor.ts';

const WAIT_MS = 60_000;

/** The page of evidence of a service's workspace `clinic`, as compliance staff visit it. */
export class EvidencePage {
  readonly visitor: Visitor;
  readonly userName: string;
  readonly userId: string;
  readonly #service: TestService;

  private constructor(service: TestService, visitor: Visitor, user: { id: string; name: string }) {
    this.#service = service;
    this.visitor = visitor;
    this.userId = user.id;
    this.userName = user.name;
  }

  static async open(service: TestService): Promise<EvidencePage> {
    const users = await UserDirectory.open(service.eventLog);
    const [name, password] = [phi('compliance@clinic.example'), phi('correct horse battery')];
    const id = await makeUser(users, { name, role: 'compliance', password });
    users.close();
    const visitor = await eventually(async () => {
      const visiting = new Visitor(service.url);
      await visiting.signIn({ name, password });
      expect(await visiting.isSignedIn()).toBe(true);
      return visiting;
    });
    return new EvidencePage(service, visitor, { id, name });
  }

  /** Below `/dashboard`. */
  path(what = ''): string {
    return `/workspaces/${this.#service.workspaceId('clinic')}/evidence${what}`;
  }

  /** The page's words, with one blank between each. */
  async text(): Promise<string> {
    const { text } = await this.visitor.get(this.path());
    return text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  }

  /** The page's words, once a verification that was asked for just now has ended. */
  async verified(): Promise<string> {
    await this.visitor.get(this.path());
    expect((await this.visitor.post(this.path('/verify'), {})).status).toBe(303);
    return eventually(async () => {
      const text = await this.text();
      expect(text).toMatch(/Ended \d{4}/);
      return text;
    }, WAIT_MS);
  }
}
