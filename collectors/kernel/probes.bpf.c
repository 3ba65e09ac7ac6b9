// Congestion-control state at the entry of its callbacks. Offsets come from BTF as OFF_* macros
// (-1: this kernel has no such field), so that no kernel header but the types of BPF is needed.
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

struct sample {
	u64 ts_ns;
	u64 sk;
	u64 pacing_rate;
	u64 alpha_used;
	s64 rs_rtt_us;
	u64 srtt_pace;
	u64 mdev_pace;
	u64 classic_ecn;
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
	u16 family;
	u16 sport;
	u16 dport;
	u16 padding;
	u8 saddr[16];
	u8 daddr[16];
	char cc[16];
	u8 ca[CA_SIZE];
};

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
BPF_PERCPU_ARRAY(scratch, struct sample, 1);
BPF_PERCPU_ARRAY(calling, u64, 1);
BPF_TABLE("lru_hash", u64, struct seen, seen, 4096);
BPF_TABLE("lru_hash", u64, struct sample, before, 4096);

#define READ(to, size, from) bpf_probe_read_kernel(to, size, (void *)(from))
#define GET(to, name) \
	if (OFF_##name >= 0) \
		READ(&(to), SIZE_##name, sk + OFF_##name)

// Fills the CPU's scratch sample; 0 when the socket is not wanted.
static inline struct sample *fill(u64 sk)
{
	int zero = 0;
	struct sample *s = scratch.lookup(&zero);
	u64 ops = 0;

	if (!s)
		return 0;
	__builtin_memset(s, 0, sizeof(*s));
	GET(s->sport, SPORT);
	GET(s->dport, DPORT);
	s->dport = (u16)(s->dport << 8 | s->dport >> 8);
	if (!(WANTED(s->sport, s->dport)))
		return 0;
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
	if (ops)
		READ(s->cc, sizeof(s->cc), ops + OFF_OPS_NAME);
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
	READ(s->ca, CA_SIZE, sk + OFF_CA_PRIV);
	return s;
}

static inline void add_rate_sample(struct sample *s, u64 rs)
{
	if (!rs)
		return;
	s->has_rs = 1;
	if (OFF_RS_ACKED >= 0)
		READ(&s->rs_acked, 4, rs + OFF_RS_ACKED);
	if (OFF_RS_RTT >= 0)
		READ(&s->rs_rtt_us, 8, rs + OFF_RS_RTT);
	if (OFF_RS_ECE >= 0)
		READ(&s->rs_ece, 4, rs + OFF_RS_ECE);
	if (OFF_RS_LOSSES >= 0)
		READ(&s->rs_losses, 4, rs + OFF_RS_LOSSES);
}

static inline void emit(void *ctx, struct sample *s, u32 event)
{
	s->event = event;
	samples.perf_submit(ctx, s, sizeof(*s));
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
}

#if WITH_PRAGUE
// The update of alpha is inlined in most builds. That one happened shows at the next ACK: next_seq
// moved. What the update saw is the state at the entry of the call before, kept in `before`.
int on_prague_cong_control(struct pt_regs *ctx)
{
	u64 sk = PT_REGS_PARM1(ctx);
	struct sample *s = fill(sk), *old;
	u32 next_seq = 0;

	if (!s)
		return 0;
	add_rate_sample(s, RS_ARGUMENT(ctx));
	__builtin_memcpy(&next_seq, s->ca + PRAGUE_NEXT_SEQ, 4);
#if DERIVE_ALPHA
	old = before.lookup(&sk);
	if (old) {
		u32 old_next = 0;

		__builtin_memcpy(&old_next, old->ca + PRAGUE_NEXT_SEQ, 4);
		if (old_next != next_seq)
			emit(ctx, old, EVENT_ALPHA);
	}
	s->event = EVENT_ACK;
	before.update(&sk, s);
#endif
	if (changed(s, next_seq))
		emit(ctx, s, EVENT_ACK);
	return 0;
}

int on_prague_update_alpha(struct pt_regs *ctx)
{
	emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_ALPHA, 0);
	return 0;
}

int on_prague_detection(struct pt_regs *ctx)
{
	emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_DETECT, 0);
	return 0;
}

int on_prague_enter_cwr(struct pt_regs *ctx)
{
	emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_CWR, 0);
	return 0;
}

int on_prague_fallback(struct pt_regs *ctx)
{
	int zero = 0;
	u64 sk = PT_REGS_PARM1(ctx);

	calling.update(&zero, &sk);
	return 0;
}

int on_prague_fallback_return(struct pt_regs *ctx)
{
	int zero = 0;
	u64 *sk = calling.lookup(&zero);
	struct sample *s;

	if (!sk || !*sk)
		return 0;
	s = fill(*sk);
	if (!s)
		return 0;
	s->alpha_used = PT_REGS_RC(ctx);
	emit(ctx, s, EVENT_FALLBACK);
	return 0;
}
#endif

#if WITH_DCTCP
// dctcp_update_alpha runs for every ACK and updates when a window's data is acknowledged.
int on_dctcp_update_alpha(struct pt_regs *ctx)
{
	struct sample *s = fill(PT_REGS_PARM1(ctx));
	u32 next_seq = 0;

	if (!s)
		return 0;
	__builtin_memcpy(&next_seq, s->ca + DCTCP_NEXT_SEQ, 4);
	if ((s32)(s->snd_una - next_seq) >= 0)
		emit(ctx, s, EVENT_ALPHA);
	else if (changed(s, next_seq))
		emit(ctx, s, EVENT_ACK);
	return 0;
}
#endif

int on_ssthresh(struct pt_regs *ctx)
{
	emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_CWR, 0);
	return 0;
}

int on_state(struct pt_regs *ctx)
{
	u32 state = PT_REGS_PARM2(ctx) & 0xff;

	emit_plain(ctx, PT_REGS_PARM1(ctx), STATE_IS_CWR && state == STATE_CWR ? EVENT_CWR : EVENT_STATE, state);
	return 0;
}

int on_cwnd_event(struct pt_regs *ctx)
{
	if ((u32)PT_REGS_PARM2(ctx) == CA_EVENT_LOSS)
		emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_LOSS, 0);
	return 0;
}

int on_init(struct pt_regs *ctx)
{
	emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_INIT, 0);
	return 0;
}

int on_release(struct pt_regs *ctx)
{
	emit_plain(ctx, PT_REGS_PARM1(ctx), EVENT_RELEASE, 0);
	return 0;
}

#if WITH_TCP_PROBE
// Sockets of other algorithms: for each packet that they receive, before it is processed.
RAW_TRACEPOINT_PROBE(tcp_probe)
{
	struct sample *s = fill(ctx->args[0]);

	if (!s)
		return 0;
#if WITH_PRAGUE
	if (s->cc[0] == 'p' && s->cc[1] == 'r' && s->cc[2] == 'a')
		return 0;
#endif
#if WITH_DCTCP
	if (s->cc[0] == 'd' && s->cc[1] == 'c' && s->cc[2] == 't')
		return 0;
#endif
	if (changed(s, 0))
		emit(ctx, s, EVENT_PROBE);
	return 0;
}
#endif
