// Package browser drives a headless Chromium, for tests and measurements of pages.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/chromedp/chromedp"
)

// Browser is a running Chromium.
type Browser struct {
	ctx     context.Context
	profile string
	end     context.CancelFunc
}

// Start starts a Chromium with a fresh profile. It ends with the context, or with Stop.
func Start(ctx context.Context) (*Browser, error) {
	profile, err := os.MkdirTemp("", "nginx-operator-chromium-")
	if err != nil {
		return nil, err
	}
	allocator, endAllocator := chromedp.NewExecAllocator(ctx,
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("enable-precise-memory-info", true),
		// Pages are measured and photographed as users see them.
		chromedp.Flag("hide-scrollbars", false), chromedp.Flag("force-color-profile", "srgb"), chromedp.UserDataDir(profile))
	browser, endBrowser := chromedp.NewContext(allocator)
	b := &Browser{ctx: browser, profile: profile, end: func() { endBrowser(); endAllocator() }}
	if err := chromedp.Do(browser); err != nil {
		return nil, errors.Join(fmt.Errorf("start Chromium, which `make chromium` installs: %w", err), b.Stop())
	}
	return b, nil
}

// Stop ends the browser, and removes its profile.
func (b *Browser) Stop() error {
	err := chromedp.Cancel(b.ctx)
	b.end()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, os.RemoveAll(b.profile))
}
