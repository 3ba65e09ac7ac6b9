// A sample: congestion-control state of one socket. Offsets come from BTF as OFF_* macros (-1: this
// kernel has no such field), so that no kernel header but the types of BPF is needed.
#include <uapi/linux/ptrace.h>

#define EVENT_ACK 0
#define EVENT_ALPHA 1
#define EVENT_DETECT 2
#define EVENT_CWR 3
#define EVENT_FALLBACK 4
#define EVENT_LOSS 5
#define EVENT_INIT 6
#define EVENT_RELEASE 7
#define EVENT_PROBE 8
#define EVENT_STATE 9

#define STATE_CWR 2
#define QUIET_NS 10000000
#define FAMILY_INET6 10

// What can be lost, by index of `lost`.
#define LOST_RING 0
#define LOST_NESTED 1

// round_at: where the fields of a round lie in struct prague; unknown while its layout is being decided.
#define NEXT_SEQ 0
#define OLD_DELIVERED 1
#define UNKNOWN 0
#define BEYOND 0xffffffff

struct sample {
	u64 ts_ns;
	u64 sk;
	u64 pacing_rate;
	u64 alpha_used;
	s64 rs_rtt_us;
	u64 srtt_pace;
	u64 mdev_pace;
	u64 classic_ecn;
	u64 failed;
	u32 g_srtt_shift;
	u32 g_mdev_shift;
	u32 event;
	u32 argument;
	u32 snd_cwnd;
	u32 ssthresh;
	u32 srtt_us;
	u32 mdev_us;
	u32 min_rtt_us;
	u32 snd_una;
	u32 snd_nxt;
	u32 delivered;
	u32 delivered_ce;
	u32 packets_out;
	u32 ca_state;
	u32 ecn_flags;
	u32 rs_acked;
	u32 rs_ece;
	u32 rs_losses;
	u32 has_rs;
	u32 next_seq;
	u16 family;
	u16 sport;
	u16 dport;
	u16 padding;
	u8 saddr[16];
	u8 daddr[16];
	char cc[16];
	u8 ca[CA_SIZE];
};

// A sample under construction. A softirq may interrupt a probe in process context and run probes of
// its own on the same CPU, and a preemptible kernel may switch tasks inside one: each takes a slot
// that is free. It is taken if nobody else had counted himself in, so two never share one.
struct slot {
	u64 busy;
	struct sample sample;
};
#define SLOTS 6

// What the change filter compares; the rest moves with every ACK.
struct seen {
	u32 snd_cwnd;
	u32 ssthresh;
	u32 delivered_ce;
	u32 ca_state;
	u32 next_seq;
	u64 ts_ns;
};

BPF_PERF_OUTPUT(samples);
BPF_PERCPU_ARRAY(slots, struct slot, SLOTS);
BPF_PERCPU_ARRAY(lost, u64, 2);
BPF_ARRAY(round_at, u32, 2);
BPF_TABLE("lru_hash", u64, u64, calling, 4096);
BPF_TABLE("lru_hash", u64, struct seen, seen, 16384);
BPF_HASH(before, u64, struct sample, 4096);

#define TAKE(to, size, from, bit) \
	if (bpf_probe_read_kernel(to, size, (void *)(from))) \
		s->failed |= 1ULL << (bit)
#define GET(to, name) \
	if (OFF_##name >= 0) { \
		TAKE(&(to), SIZE_##name, sk + OFF_##name, BIT_##name); \
	}
#define GET_RS(to, size, name) \
	if (OFF_##name >= 0) { \
		TAKE(&(to), size, rs + OFF_##name, BIT_##name); \
	}
#define SWAP(port) ((u16)((port) << 8 | (port) >> 8))

static inline void count_lost(int place)
{
	u64 *count = lost.lookup(&place);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static inline struct sample *claim(void)
{
	struct slot *slot;
	int index;

#pragma unroll
	for (index = 0; index < SLOTS; index++) {
		int key = index;

		slot = slots.lookup(&key);
		if (!slot)
			return 0;
		__sync_fetch_and_add(&slot->busy, 1);
		if (*(volatile u64 *)&slot->busy == 1)
			return &slot->sample;
		__sync_fetch_and_add(&slot->busy, -1);
	}
	count_lost(LOST_NESTED);
	return 0;
}

static inline void release(struct sample *s)
{
	struct slot *slot = (struct slot *)((char *)s - sizeof(u64));

	__sync_fetch_and_add(&slot->busy, -1);
}

// Whether the socket is of the network namespace that is recorded, of any where NAMESPACE is 0.
static inline int is_ours(u64 sk)
{
	u64 net = 0;
	u32 inum = 0;

	if (!NAMESPACE || OFF_NET < 0 || OFF_INUM < 0)
		return 1;
	bpf_probe_read_kernel(&net, sizeof(net), (void *)(sk + OFF_NET));
	bpf_probe_read_kernel(&inum, sizeof(inum), (void *)(net + OFF_INUM));
	return inum == NAMESPACE;
}

// Fills a sample, which the caller releases; 0 when the socket is not wanted.
static inline struct sample *fill(u64 sk)
{
	struct sample *s;
	u64 ops = 0;
	u16 sport = 0, dport = 0;

	bpf_probe_read_kernel(&sport, 2, (void *)(sk + OFF_SPORT));
	bpf_probe_read_kernel(&dport, 2, (void *)(sk + OFF_DPORT));
	if (!sport && OFF_INET_SPORT >= 0) {
		bpf_probe_read_kernel(&sport, 2, (void *)(sk + OFF_INET_SPORT));
		sport = SWAP(sport);
	}
	dport = SWAP(dport);
	if (!(WANTED(sport, dport)) || !is_ours(sk))
		return 0;
	s = claim();
	if (!s)
		return 0;
	__builtin_memset(s, 0, sizeof(*s));
	s->sport = sport;
	s->dport = dport;
	s->ts_ns = bpf_ktime_get_ns();
	s->sk = sk;
	GET(s->family, FAMILY);
	if (s->family == FAMILY_INET6) {
		GET(s->saddr, SADDR6);
		GET(s->daddr, DADDR6);
	} else {
		GET(s->saddr, SADDR);
		GET(s->daddr, DADDR);
	}
	GET(ops, CA_OPS);
	if (ops) {
		TAKE(s->cc, sizeof(s->cc), ops + OFF_OPS_NAME, BIT_OPS_NAME);
	}
	GET(s->snd_cwnd, SND_CWND);
	GET(s->ssthresh, SSTHRESH);
	GET(s->srtt_us, SRTT);
	GET(s->mdev_us, MDEV);
	GET(s->min_rtt_us, MIN_RTT);
	GET(s->snd_una, SND_UNA);
	GET(s->snd_nxt, SND_NXT);
	GET(s->delivered, DELIVERED);
	GET(s->delivered_ce, DELIVERED_CE);
	GET(s->packets_out, PACKETS_OUT);
	GET(s->ca_state, CA_STATE);
	GET(s->ecn_flags, ECN_FLAGS);
	GET(s->pacing_rate, PACING_RATE);
	GET(s->srtt_pace, SRTT_PACE);
	GET(s->mdev_pace, MDEV_PACE);
	GET(s->classic_ecn, CLASSIC_ECN);
	GET(s->g_srtt_shift, G_SRTT_SHIFT);
	GET(s->g_mdev_shift, G_MDEV_SHIFT);
	TAKE(s->ca, CA_SIZE, sk + OFF_CA_PRIV, BIT_CA_PRIV);
	return s;
}

static inline void add_rate_sample(struct sample *s, u64 rs)
{
	if (!rs)
		return;
	s->has_rs = 1;
	GET_RS(s->rs_acked, 4, RS_ACKED);
	GET_RS(s->rs_rtt_us, 8, RS_RTT);
	GET_RS(s->rs_ece, 4, RS_ECE);
	GET_RS(s->rs_losses, 4, RS_LOSSES);
}

static inline void emit(void *ctx, struct sample *s, u32 event)
{
	s->event = event;
	if (samples.perf_submit(ctx, s, sizeof(*s)))
		count_lost(LOST_RING);
}

// Whether anything of interest moved since the socket's last sample, or that one is QUIET_NS old.
static inline int changed(struct sample *s, u32 next_seq)
{
	struct seen now = {};
	struct seen *last;
	u64 key = s->sk;

	now.snd_cwnd = s->snd_cwnd;
	now.ssthresh = s->ssthresh;
	now.delivered_ce = s->delivered_ce;
	now.ca_state = s->ca_state;
	now.next_seq = next_seq;
	now.ts_ns = s->ts_ns;
	last = seen.lookup(&key);
	if (!EVERY_ACK && last && last->snd_cwnd == now.snd_cwnd && last->ssthresh == now.ssthresh &&
	    last->delivered_ce == now.delivered_ce && last->ca_state == now.ca_state &&
	    last->next_seq == now.next_seq &&
	    now.ts_ns - last->ts_ns < QUIET_NS)
		return 0;
	seen.update(&key, &now);
	return 1;
}

static inline void emit_plain(void *ctx, u64 sk, u32 event, u32 argument)
{
	struct sample *s = fill(sk);

	if (!s)
		return;
	s->argument = argument;
	emit(ctx, s, event);
	release(s);
}
