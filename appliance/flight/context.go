package flight

import "context"

type loadKey struct{}

// With is a context that carries l.
func With(ctx context.Context, l *Load) context.Context {
	return context.WithValue(ctx, loadKey{}, l)
}

// Of is the load that ctx carries, or nil, which counts nothing.
func Of(ctx context.Context) *Load {
	l, _ := ctx.Value(loadKey{}).(*Load)
	return l
}
