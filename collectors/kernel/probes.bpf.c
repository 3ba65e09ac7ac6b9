// The probes: each samples the state at the entry of a callback. Follows sample.bpf.h.

#if WITH_PRAGUE
// The update of alpha is inlined in most builds. That one happened shows at the next ACK: next_seq
// moved. What the update saw is the state at the entry of the call before, kept in `before` - unless that
// call was skipped: a round begins with snd_nxt and delivered of the call that began it.
static inline int began_round(struct sample *old, struct sample *s)
{
	u32 old_delivered = old->delivered;
	int field = OLD_DELIVERED;
	u32 *at = round_at.lookup(&field);

	if (at && *at != BEYOND)
		TAKE(&old_delivered, 4, s->sk + OFF_CA_PRIV + *at, BIT_CA_PRIV);
	return old->snd_nxt == s->next_seq && old->delivered == old_delivered;
}

static inline void derive_alpha(void *ctx, struct sample *s)
{
	u64 sk = s->sk;
	struct sample *old = before.lookup(&sk);

	if (old && old->next_seq != s->next_seq && began_round(old, s))
		emit(ctx, old, EVENT_ALPHA);
	s->event = EVENT_ACK;
	before.update(&sk, s);
}

int on_prague_cong_control(struct pt_regs *ctx)
{
	u64 sk = PT_REGS_PARM1(ctx);
	struct sample *s = fill(sk);
	int field = NEXT_SEQ;
	u32 *at = round_at.lookup(&field);

	if (!s)
		return 0;
	add_rate_sample(s, RS_ARGUMENT(ctx));
	if (!at || *at == UNKNOWN) {
		emit(ctx, s, EVENT_ACK);
		release(s);
		return 0;
	}
	s->argument = 1;
	if (*at != BEYOND) {
		TAKE(&s->next_seq, 4, sk + OFF_CA_PRIV + *at, BIT_CA_PRIV);
#if DERIVE_ALPHA
		derive_alpha(ctx, s);
#endif
	}
	if (changed(s, s->next_seq))
		emit(ctx, s, EVENT_ACK);
	release(s);
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

// From call to return a task may sleep, move to another CPU or be interrupted by a softirq, which has
// a stack of its own: the stack, in units of its size, is what belongs to the call.
#define STACK_SHIFT 14

int on_prague_fallback(struct pt_regs *ctx)
{
	u64 stack = PT_REGS_SP(ctx) >> STACK_SHIFT, sk = PT_REGS_PARM1(ctx);

	calling.update(&stack, &sk);
	return 0;
}

int on_prague_fallback_return(struct pt_regs *ctx)
{
	u64 stack = PT_REGS_SP(ctx) >> STACK_SHIFT;
	u64 *found = calling.lookup(&stack);
	struct sample *s;
	u64 sk;

	if (!found)
		return 0;
	sk = *found;
	calling.delete(&stack);
	s = fill(sk);
	if (!s)
		return 0;
	s->alpha_used = PT_REGS_RC(ctx);
	emit(ctx, s, EVENT_FALLBACK);
	release(s);
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
	release(s);
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
	u64 sk = PT_REGS_PARM1(ctx);

	emit_plain(ctx, sk, EVENT_RELEASE, 0);
	before.delete(&sk);
	seen.delete(&sk);
	return 0;
}

#if WITH_TCP_PROBE
// Sockets of other algorithms: for each packet that they receive, before it is processed.
RAW_TRACEPOINT_PROBE(tcp_probe)
{
	struct sample *s = fill(ctx->args[0]);
	int other = 1;

	if (!s)
		return 0;
#if WITH_PRAGUE
	if (s->cc[0] == 'p' && s->cc[1] == 'r' && s->cc[2] == 'a' && !s->cc[6])
		other = 0;
#endif
#if WITH_DCTCP
	if (s->cc[0] == 'd' && s->cc[1] == 'c' && s->cc[2] == 't')
		other = 0;
#endif
	if (other && changed(s, 0))
		emit(ctx, s, EVENT_PROBE);
	release(s);
	return 0;
}
#endif
