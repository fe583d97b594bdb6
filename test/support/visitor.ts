import { Client, type TestResponse } from './client.ts';
import type { TestUser } from './dashboard.ts';

/** Visits a dashboard without a browser: keeps the cookie, and sends the token of the last page with each form. */
export class Visitor {
  cookie: string | undefined;
  csrf = '';
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** `path` is below `/dashboard`. */
  get(path: string): Promise<TestResponse> {
    return this.#send('GET', path);
  }

  /** Sends a form. */
  post(path: string, form: Record<string, string>): Promise<TestResponse> {
    return this.#send('POST', path, new URLSearchParams({ csrf_token: this.csrf, ...form }).toString());
  }

  /** Sends the sign-in page's form. */
  async signIn({ name, password }: Omit<TestUser, 'id'>, next?: string): Promise<TestResponse> {
    await this.get('/sign-in');
    return this.post('/sign-in', { name, password, ...(next !== undefined && { next }) });
  }

  /** Whether it is: others are sent to the sign-in page. */
  async isSignedIn(): Promise<boolean> {
    return (await this.get('/account')).status === 200;
  }

  async #send(method: string, path: string, body?: string): Promise<TestResponse> {
    const answer = await new Client(this.#url, undefined).send(`/dashboard${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...(this.cookie !== undefined && { cookie: this.cookie }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
    });
    this.cookie = [answer.headers['set-cookie'] ?? []].flat()[0]?.split(';')[0] ?? this.cookie;
    this.csrf = /name="csrf_token" value="([^"]+)"/.exec(answer.text)?.[1] ?? this.csrf;
    return answer;
  }
}
