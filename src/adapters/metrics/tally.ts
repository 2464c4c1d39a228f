/** The values of labels, by their names. */
export type Labels = Readonly<Record<string, string>>;

/** A line of a metric, as prom-client writes it out. */
interface Line {
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The measurements of a tally that have the same labels. */
export class Series {
  /** How many fell into each bucket, and behind the last one. */
  readonly counts: Float64Array;
  sum = 0;

  constructor(
    readonly labels: Labels,
    private readonly buckets: readonly number[],
  ) {
    this.counts = new Float64Array(buckets.length + 1);
  }

  add(value: number): void {
    let bucket = 0;
    while (bucket < this.buckets.length && value > (this.buckets[bucket] as number)) bucket++;
    (this.counts[bucket] as number)++;
    this.sum += value;
  }
}

/**
 * A histogram that costs next to nothing to add to. Those of prom-client make a text of the labels for each measurement; here
 * they are given once, and what Prometheus reads is made when it is read.
 */
export class Tally {
  private readonly all: Series[] = [];

  /** `buckets` are the upper bounds, which belong to them, from the lowest to the highest. */
  constructor(
    readonly name: string,
    private readonly help: string,
    private readonly buckets: readonly number[],
  ) {}

  /** A new series, for labels that have none yet. */
  series(labels: Labels = {}): Series {
    const series = new Series(labels, this.buckets);
    this.all.push(series);
    return series;
  }

  /** What a registry of prom-client asks its metrics for. */
  get(): { name: string; help: string; type: 'histogram'; aggregator: 'sum'; values: Line[] } {
    return {
      name: this.name,
      help: this.help,
      type: 'histogram',
      aggregator: 'sum',
      values: this.all.flatMap((each) => this.lines(each)),
    };
  }

  private lines({ labels, counts, sum }: Series): Line[] {
    let count = 0;
    const lines = [...this.buckets, '+Inf'].map((bound, i) => {
      count += counts[i] as number;
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le: String(bound) }, value: count };
    });
    return [
      ...lines,
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ];
  }
}
