import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Random } from '../hostile/generated-requests.js';
import { Answer, Intent, Ledger, petsIn } from './ledger.js';

const STATUSES = ['available', 'pending', 'sold'] as const;

/** After how many milliseconds a request is given up: no answer may take as long. */
const GIVEN_UP = 30_000;

/** Clients that ask again if the answer to a request was lost, 503 or 409, and take down what they were told. */
export class Clients {
  private readonly agent = new Agent({ keepAlive: true });
  private names = 0;

  constructor(
    private readonly port: number,
    private readonly key: string,
    private readonly ledger: Ledger,
    private readonly random: Random,
  ) {}

  /** Has so many of them work until it is over. */
  async work(count: number, isOver: () => boolean): Promise<void> {
    const one = async () => {
      while (!isOver()) await this.doSomething(isOver);
    };
    await Promise.all(Array.from({ length: count }, one));
  }

  /** Sends what has a key and was not acknowledged until it is, and compares all that is there with what is known. */
  async settle(): Promise<void> {
    const unsettled = this.ledger.intents.filter(
      ({ key, acknowledged }) => key !== undefined && acknowledged === undefined,
    );
    for (const intent of unsettled) await this.createWithKey(intent, () => false);
    const all = await this.walk('');
    const byStatus = [];
    for (const status of STATUSES) byStatus.push(...(await this.walk(`&status=${status}`)));
    this.ledger.checkAll(all, byStatus);
  }

  close(): void {
    this.agent.destroy();
  }

  private async doSomething(isOver: () => boolean): Promise<void> {
    const { random, ledger } = this;
    const kind = random.int(100);
    if (kind < 20) {
      const answer = await this.create(this.newIntent(false));
      if (answer?.status === 503) await delay(random.int(50));
    } else if (kind < 50) {
      const intent = this.newIntent(true);
      // Some send it twice at the same time.
      await Promise.all(Array.from({ length: random.chance(0.2) ? 2 : 1 }, () => this.createWithKey(intent, isOver)));
    } else if (kind < 55 && ledger.acknowledged.length > 0) {
      const intent = random.pick(ledger.acknowledged);
      if (intent.key !== undefined) await this.createWithKey(intent, isOver);
    } else if (kind < 75) await this.find();
    else await this.list();
  }

  private newIntent(hasKey: boolean): Intent {
    const { random, ledger } = this;
    const name = `pet-${this.names++}`;
    const categoryId = (BigInt(random.int(2 ** 31)) << 31n) - BigInt(random.int(2 ** 31));
    return ledger.intend(name, random.pick(STATUSES), categoryId, hasKey ? `key-${name}` : undefined);
  }

  /** Sends it once; undefined if the answer was lost. */
  private async create(intent: Intent): Promise<Answer | undefined> {
    const headers = {
      'Content-Type': 'application/json',
      ...(intent.key !== undefined && { 'Idempotency-Key': intent.key }),
    };
    const operation = intent.key === undefined ? 'create' : 'create with key';
    // Some go away before they are answered.
    const patience = this.random.chance(0.01) ? this.random.int(50) : undefined;
    const answer = await this.ask('POST', '/v1/pets', headers, intent.body, patience);
    if (answer && this.ledger.count(operation, answer, 201)) this.ledger.acknowledge(intent, answer.text);
    return answer;
  }

  private async createWithKey(intent: Intent, isOver: () => boolean): Promise<void> {
    do {
      const answer = await this.create(intent);
      if (answer && answer.status !== 503 && answer.status !== 409) return;
      await delay(20 + this.random.int(80));
    } while (!isOver());
  }

  private async find(): Promise<void> {
    const { random, ledger } = this;
    if (ledger.acknowledged.length === 0 || random.chance(0.1)) {
      const nowhere = await this.ask('GET', `/v1/pets/${2n ** 62n + BigInt(random.int(1_000))}`);
      if (nowhere) ledger.count('find what is not there', nowhere, 404);
      return;
    }
    const { id, acknowledged } = random.pick(ledger.acknowledged);
    const answer = await this.ask('GET', `/v1/pets/${id}`);
    if (answer && ledger.count('find', answer, 200) && answer.text !== acknowledged)
      ledger.problem(`${acknowledged} was found as ${answer.text}.`);
  }

  private async list(): Promise<void> {
    const { random, ledger } = this;
    const status = random.chance(0.5) ? random.pick(STATUSES) : undefined;
    const limit = random.between(1, 100);
    const before = ledger.acknowledged.length;
    const answer = await this.ask('GET', `/v1/pets?limit=${limit}${status === undefined ? '' : `&status=${status}`}`);
    if (answer && ledger.count('list', answer, 200)) ledger.checkPage(answer.text, limit, status, before);
  }

  /** The texts of all pets that match, newest first, page by page. */
  private async walk(filter: string): Promise<string[]> {
    const found: string[] = [];
    let path: string | undefined = `/v1/pets?limit=100${filter}`;
    while (path !== undefined) {
      const answer = await this.ask('GET', path);
      if (!answer || !this.ledger.count('list', answer, 200)) {
        this.ledger.problem('There is trouble after the end of all faults.');
        return found;
      }
      found.push(...petsIn(answer.text));
      path = /<([^>]*)>; rel="next"/.exec(String(answer.headers.link))?.[1];
    }
    return found;
  }

  /** Asks; undefined if the answer was lost, or the client has gone after so many milliseconds. */
  private ask(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body?: string,
    patience?: number,
  ): Promise<Answer | undefined> {
    const begun = performance.now();
    return new Promise((resolve) => {
      const { port, agent } = this;
      let isAnswered = false;
      const asking = request(
        { host: '127.0.0.1', port, path, method, agent, headers: { Authorization: `Bearer ${this.key}`, ...headers } },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8');
          answer.on('data', (chunk: string) => (text += chunk));
          answer.on('end', () => {
            isAnswered = true;
            const took = performance.now() - begun;
            resolve({ status: answer.statusCode ?? 0, text, headers: answer.headers, took });
          });
        },
      );
      const timer = setTimeout(() => asking.destroy(), patience ?? GIVEN_UP);
      asking.on('error', () => undefined);
      asking.on('close', () => {
        clearTimeout(timer);
        if (patience === undefined && !isAnswered) this.ledger.problem(`${method} ${path} was not answered.`);
        resolve(undefined);
      });
      asking.end(body);
    });
  }
}
